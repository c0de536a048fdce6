//! Introspection of opaque tokens.

use moongate_config::{IssuerConfig, KeyLocation, Secret};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::claims::SubjectNaming;

fn endpoint(address: std::net::SocketAddr) -> Arc<IntrospectionEndpoint> {
    let introspection = IntrospectionConfig {
        endpoint: Some(format!("http://{address}/introspect").parse().unwrap()),
        client_id: "gate".to_owned(),
        client_secret: Secret::new("secret"),
    };
    let issuer = IssuerConfig {
        issuer: "https://a.example".into(),
        audiences: vec!["gate".to_owned()],
        keys: KeyLocation::Discovered,
        introspection: None,
        name_claim: None,
    };
    let rules = Arc::new(ClaimRules::new(&issuer, SubjectNaming::Plain));
    IntrospectionEndpoint::new(&introspection, rules, Arc::new(IssuerClient::new(None)))
}

async fn answer(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await.unwrap();
    let body = json!({ "active": false }).to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn introspection_requests_wait_for_their_turn() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = endpoint(listener.local_addr().unwrap());
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..4 * MAX_REQUESTS {
        let endpoint = Arc::clone(&endpoint);
        asked.spawn(async move {
            let token = format!("token-{}", number / 2); // every token is sent by two requests
            endpoint.verify(&token, Digest::of(token.as_bytes())).await
        });
    }
    let mut connections = Vec::new();
    while connections.len() < MAX_REQUESTS {
        connections.push(listener.accept().await.unwrap().0);
    }
    assert_eq!(endpoint.turns.available_permits(), 0);
    for connection in connections {
        answer(connection).await;
    }
    for _ in 0..MAX_REQUESTS {
        answer(listener.accept().await.unwrap().0).await;
    }
    while let Some(result) = asked.join_next().await {
        assert_eq!(result.unwrap().err(), Some(AuthenticationError::Refused(TokenProblem::Inactive)));
    }
    assert!(endpoint.running.lock().unwrap().is_empty());
}
