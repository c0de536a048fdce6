//! A fast check of JSON text: most text is read in blocks of bytes instead of one at a time.
//!
//! The check only accepts. Text that it doesn't accept isn't necessarily invalid: it could nest deeper or contain a
//! number that needs a closer look. serde_json decides about such text, and words the error.

use super::text_run::clean_run;

/// The maximum nesting depth, the same as in serde_json's parser.
const MAX_DEPTH: u32 = 127;

/// Text that isn't accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotAccepted;

/// The properties of accepted text. Its strings contain no lone surrogates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AcceptedText {
    /// True if there are line breaks between tokens.
    pub(super) has_line_breaks: bool,
}

/// The parts of a text that a check can refuse.
pub(super) trait ScanVisitor {
    /// The start of an object.
    fn open_object(&mut self);

    /// A key, at its position in the text, without its quotes.
    fn key(&mut self, text: &str, start: usize, end: usize) -> Result<(), NotAccepted>;

    /// The end of an object.
    fn close_object(&mut self, text: &str) -> Result<(), NotAccepted>;

    /// A number.
    fn number(&mut self, written: &str) -> Result<(), NotAccepted>;
}

/// Accepts everything that is valid.
pub(super) struct SyntaxOnly;

impl ScanVisitor for SyntaxOnly {
    fn open_object(&mut self) {}

    fn key(&mut self, _: &str, _: usize, _: usize) -> Result<(), NotAccepted> {
        Ok(())
    }

    fn close_object(&mut self, _: &str) -> Result<(), NotAccepted> {
        Ok(())
    }

    fn number(&mut self, _: &str) -> Result<(), NotAccepted> {
        Ok(())
    }
}

/// Reads one value, with white space around it.
pub(super) fn scan(text: &str, visitor: &mut impl ScanVisitor) -> Result<AcceptedText, NotAccepted> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, has_line_breaks: false };
    // The open containers, the innermost last: a bit for each, set for an object.
    let mut objects = 0_u128;
    let mut depth = 0;
    loop {
        scanner.skip_space();
        match scanner.peek()? {
            b'"' => scanner.string()?,
            b'-' | b'0'..=b'9' => {
                let start = scanner.at;
                scanner.number()?;
                visitor.number(&text[start..scanner.at])?;
            }
            open @ (b'{' | b'[') => {
                scanner.at += 1;
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(NotAccepted);
                }
                let is_object = open == b'{';
                objects = objects << 1 | u128::from(is_object);
                if is_object {
                    visitor.open_object();
                }
                scanner.skip_space();
                if !matches!((is_object, scanner.peek()?), (true, b'}') | (false, b']')) {
                    if is_object {
                        scanner.key(visitor)?;
                    }
                    continue;
                }
                // It is empty, and closed below.
            }
            b't' => scanner.word("true")?,
            b'f' => scanner.word("false")?,
            b'n' => scanner.word("null")?,
            _ => return Err(NotAccepted),
        }
        // After a value: the ends of containers, until another value follows.
        loop {
            scanner.skip_space();
            if depth == 0 {
                let is_end = scanner.at == scanner.bytes.len();
                let accepted = AcceptedText { has_line_breaks: scanner.has_line_breaks };
                return if is_end { Ok(accepted) } else { Err(NotAccepted) };
            }
            let is_object = objects & 1 == 1;
            let byte = scanner.peek()?;
            scanner.at += 1;
            match (byte, is_object) {
                (b',', true) => {
                    scanner.skip_space();
                    scanner.key(visitor)?;
                    break;
                }
                (b',', false) => break,
                (b'}', true) => visitor.close_object(text)?,
                (b']', false) => {}
                _ => return Err(NotAccepted),
            }
            objects >>= 1;
            depth -= 1;
        }
    }
}

/// Reads tokens.
struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    has_line_breaks: bool,
}

impl Scanner<'_> {
    fn peek(&self) -> Result<u8, NotAccepted> {
        self.bytes.get(self.at).copied().ok_or(NotAccepted)
    }

    fn skip_space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\n' | b'\r')) = self.bytes.get(self.at) {
            self.has_line_breaks |= matches!(byte, b'\n' | b'\r');
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NotAccepted> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(NotAccepted);
        }
        self.at += word.len();
        Ok(())
    }

    /// A key and its colon.
    fn key(&mut self, visitor: &mut impl ScanVisitor) -> Result<(), NotAccepted> {
        if self.peek()? != b'"' {
            return Err(NotAccepted);
        }
        let start = self.at + 1;
        self.string()?;
        visitor.key(self.text, start, self.at - 1)?;
        self.skip_space();
        if self.peek()? != b':' {
            return Err(NotAccepted);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), NotAccepted> {
        self.at += 1;
        loop {
            self.at += clean_run(&self.bytes[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                _ => return Err(NotAccepted), // a control character
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotAccepted> {
        let length = match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                match (super::code_unit(self.text, self.at), super::code_unit(self.text, self.at + 6)) {
                    (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
                    (Some(0xD800..=0xDFFF) | None, _) => return Err(NotAccepted),
                    (Some(_), _) => 6,
                }
            }
            _ => return Err(NotAccepted),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotAccepted> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.digits()? {
            b'0' => {}
            _ => self.skip_digits(),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
            self.skip_digits();
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            self.skip_digits();
        }
        Ok(())
    }

    /// The first of some digits.
    fn digits(&mut self) -> Result<u8, NotAccepted> {
        let digit = self.peek()?;
        if !digit.is_ascii_digit() {
            return Err(NotAccepted);
        }
        self.at += 1;
        Ok(digit)
    }

    fn skip_digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}
