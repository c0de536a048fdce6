//! The machine: an identifier, which distinguishes its users from those of other machines, and its name.

use std::fs;
use std::process::Command;

use moongate_model::names::Digest;

/// The length of the identifier, in hexadecimal digits.
const ID_DIGITS: usize = 16;

/// Identifies this machine among others: hexadecimal digits that depend on its machine id or, without one, on its host
/// name. `None` if it has neither.
#[must_use]
pub fn machine_id() -> Option<String> {
    let read = |path| fs::read_to_string(path).ok();
    let texts = [read("/etc/machine-id"), read("/var/lib/dbus/machine-id")];
    let is_known = |text: &String| !text.trim().is_empty() && text.trim() != "uninitialized";
    let text = texts.into_iter().flatten().find(is_known).or_else(host_name)?;
    Some(digits(text.trim()))
}

/// The host name of this machine. `None` if it has none.
#[must_use]
pub fn host_name() -> Option<String> {
    let command = || {
        let output = Command::new("hostname").output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(command)?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// A machine id is confidential (machine-id(5)), so only its digest is used.
fn digits(text: &str) -> String {
    let mut digits = Digest::of(format!("moongate\n{text}").as_bytes()).to_string();
    digits.truncate(ID_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_id() {
        let id = machine_id().unwrap();
        assert_eq!((machine_id().as_ref(), id.len()), (Some(&id), ID_DIGITS));
        assert_ne!(digits("one"), digits("other"));
    }
}
