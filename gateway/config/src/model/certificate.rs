//! The content of a certificate: its validity and its names.
//!
//! rustls verifies certificates but doesn't return any of this. The reader is for certificates that rustls has already
//! parsed; of anything else it returns nothing.

use std::time::SystemTime;

/// The tags of DER (X.690, 8.1.2) that certificates use here.
mod tag {
    pub(super) const OCTET_STRING: u8 = 0x04;
    pub(super) const OID: u8 = 0x06;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const VERSION: u8 = 0xa0;
    pub(super) const EXTENSIONS: u8 = 0xa3;
    pub(super) const EMAIL: u8 = 0x81;
    pub(super) const DNS: u8 = 0x82;
    pub(super) const URI: u8 = 0x86;
}

/// The extension `subjectAltName` (RFC 5280, 4.2.1.6): 2.5.29.17.
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// The content of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateContent {
    /// The start of its validity.
    pub not_before: SystemTime,
    /// The end of its validity.
    pub not_after: SystemTime,
    /// Its alternative names of the types that people and programs have, in the order of the certificate.
    pub names: Vec<CertificateName>,
}

/// A name in a certificate, which its authority vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateName {
    /// A host name.
    Dns(String),
    /// A URI, such as a SPIFFE id.
    Uri(String),
    /// An e-mail address.
    Email(String),
}

impl CertificateContent {
    /// Reads a certificate in DER. `None` if it isn't one.
    #[must_use]
    pub fn parse(der: &[u8]) -> Option<Self> {
        let mut certificate = DerReader(DerReader(der).content(tag::SEQUENCE)?);
        let mut fields = DerReader(certificate.content(tag::SEQUENCE)?);
        fields.skip_if(tag::VERSION);
        fields.value()?; // serial number
        fields.value()?; // signature algorithm
        fields.value()?; // issuer
        let mut validity = DerReader(fields.content(tag::SEQUENCE)?);
        let not_before = time(validity.value()?)?;
        let not_after = time(validity.value()?)?;
        let mut names = Vec::new();
        while let Some((tag, content)) = fields.value() {
            if tag == tag::EXTENSIONS {
                names = alternative_names(content)?;
            }
        }
        Some(Self { not_before, not_after, names })
    }
}

/// A value of DER: its tag and content.
type DerValue<'d> = (u8, &'d [u8]);

/// Reads the values of DER one after the other.
struct DerReader<'d>(&'d [u8]);

impl<'d> DerReader<'d> {
    /// The next value. `None` at the end, or if it isn't valid.
    fn value(&mut self) -> Option<DerValue<'d>> {
        let (&[tag, length], rest) = self.0.split_first_chunk()?;
        let (length, rest) = if length < 0x80 {
            (usize::from(length), rest)
        } else {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            if digits.len() > 4 {
                return None;
            }
            (digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next value, which must have this tag.
    fn content(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.value().and_then(|(found, content)| (found == tag).then_some(content))
    }

    /// Skips the next value if it has this tag.
    fn skip_if(&mut self, tag: u8) {
        if self.0.first() == Some(&tag) {
            self.value();
        }
    }
}

/// A time (RFC 5280, 4.1.2.5): with two digits for the years from 1950 to 2049, or with four.
fn time((tag, digits): DerValue<'_>) -> Option<SystemTime> {
    let digits = str::from_utf8(digits).ok()?;
    let digits = match tag {
        tag::UTC_TIME if digits.get(..2)? < "50" => format!("20{digits}"),
        tag::UTC_TIME => format!("19{digits}"),
        tag::GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| digits.get(from..to);
    let (date, clock) =
        ([part(0, 4)?, part(4, 6)?, part(6, 8)?], [part(8, 10)?, part(10, 12)?, part(12, 14)?]);
    let text = format!("{}T{}Z", date.join("-"), clock.join(":"));
    // Any time before 1970 is in the past.
    Some(humantime::parse_rfc3339(&text).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The names in the extensions.
fn alternative_names(extensions: &[u8]) -> Option<Vec<CertificateName>> {
    let mut names = Vec::new();
    let mut extensions = DerReader(DerReader(extensions).content(tag::SEQUENCE)?);
    while let Some((tag::SEQUENCE, extension)) = extensions.value() {
        let mut extension = DerReader(extension);
        if extension.content(tag::OID)? != SUBJECT_ALTERNATIVE_NAME {
            continue;
        }
        while let Some((tag, content)) = extension.value() {
            if tag == tag::OCTET_STRING {
                let mut all = DerReader(DerReader(content).content(tag::SEQUENCE)?);
                names.extend(std::iter::from_fn(|| all.value()).filter_map(alternative_name));
            }
        }
    }
    Some(names)
}

/// A name of a type that is used here, if it has only visible ASCII characters, as RFC 5280 requires.
fn alternative_name((tag, content): DerValue<'_>) -> Option<CertificateName> {
    let text = str::from_utf8(content).ok()?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let text = text.to_owned();
    match tag {
        tag::DNS => Some(CertificateName::Dns(text.to_ascii_lowercase())),
        tag::URI => Some(CertificateName::Uri(text)),
        tag::EMAIL => Some(CertificateName::Email(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_with_two_and_four_digits_of_the_year() {
        let rfc3339 = |value| time(value).map(|time| humantime::format_rfc3339_seconds(time).to_string());
        let read = |tag, text: &'static str| rfc3339((tag, text.as_bytes()));
        assert_eq!(read(tag::UTC_TIME, "261129120000Z").unwrap(), "2026-11-29T12:00:00Z");
        assert_eq!(read(tag::UTC_TIME, "500101000000Z").unwrap(), "1970-01-01T00:00:00Z", "1950");
        assert_eq!(read(tag::GENERALIZED_TIME, "99991231235959Z").unwrap(), "9999-12-31T23:59:59Z");
        assert_eq!(read(tag::GENERALIZED_TIME, "2026"), None);
        assert_eq!(read(tag::UTC_TIME, "2é1129120000Z"), None);
    }

    #[test]
    fn cut_and_changed_certificates_are_not_read() {
        for broken in [&b""[..], b"0", b"\x30\x84\xff\xff\xff\xff", b"\x30\x03\x30\x80", b"\x30\x02\x30\x00"]
        {
            assert_eq!(CertificateContent::parse(broken), None, "{broken:?}");
        }
    }
}
