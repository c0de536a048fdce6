//! Fixture data: an image, a sound and a schema.

/// A one-pixel image.
pub(crate) const PIXEL: &[u8] = include_bytes!("../assets/pixel.png");

/// A very short sound.
pub(crate) const SILENCE: &[u8] = include_bytes!("../assets/silence.wav");

/// A schema with rare keywords: anchors, conditions and references. It must reach clients unchanged.
pub(crate) const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;
