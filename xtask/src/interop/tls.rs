//! A gateway with TLS for clients, and the certificate authority that they have to trust.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use super::{CLIENTS_CONFIG, REPLACED_PLUGIN_VARIABLE, replaced_plugin, socket_address};
use crate::project::Project;
use crate::server::Server;

/// The variables with which clients trust an authority: in Python, and in Node in addition to the public ones.
const TRUST_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// A gateway with TLS, and a Unix socket.
#[derive(Debug)]
pub(super) struct TlsGateway {
    pub(super) server: Server,
    /// The certificate of its authority.
    authority: PathBuf,
    /// The address of its Unix socket.
    pub(super) socket: String,
}

impl TlsGateway {
    /// Starts the built gateway over HTTPS, on a port that the system chooses, with the configuration for clients.
    pub(super) fn start(project: &Project) -> Result<Self> {
        let directory = project.target().join("interop/tls");
        fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        let mut params = CertificateParams::new([])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A certificate with the same name as its issuer would count as self-signed.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "a test authority");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let authority_certificate = params.self_signed(&authority_key)?.pem();
        let key = KeyPair::generate()?;
        let server = CertificateParams::new(["127.0.0.1".to_owned()])?;
        let certificate = server.signed_by(&key, &Issuer::new(params, authority_key))?.pem();
        let config = fs::read_to_string(project.root().join(CLIENTS_CONFIG))?;
        let config = config.replace("../../plugins/dist", &project.dist().display().to_string());
        let tls = "\n[http.tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n";
        for (file, content) in [
            ("authority.pem", authority_certificate),
            ("certificate.pem", certificate),
            ("key.pem", key.serialize_pem()),
            ("gateway.toml", config + tls),
        ] {
            let path = directory.join(file);
            fs::write(&path, content).with_context(|| format!("can't write `{}`", path.display()))?;
        }
        let socket = socket_address(project, "tls");
        let mut command = Command::new(project.gateway());
        command.args(["serve", "--http", "127.0.0.1:0", "--listen", &socket, "-c"]);
        command.arg(directory.join("gateway.toml"));
        command.current_dir(project.root()).env("MOONGATE_CACHE_DIR", project.code_cache());
        command.env(REPLACED_PLUGIN_VARIABLE, replaced_plugin(project)?);
        let server = Server::start(command).context("the gateway didn't start")?;
        Ok(Self { server, authority: directory.join("authority.pem"), socket })
    }

    /// The variables with which a client trusts the gateway.
    pub(super) fn trust(&self) -> [(&'static str, PathBuf); 2] {
        TRUST_VARIABLES.map(|name| (name, self.authority.clone()))
    }
}
