//! The imports and exports of a component, read without running it.

use moongate_model::manifest::{GuestCapability, Interfaces};
use wasmparser::component_types::ComponentEntityType;
use wasmparser::types::Types;
use wasmparser::{BinaryReaderError, Parser, Payload, ValidPayload, Validator, WasmFeatures};

/// The interfaces of a component. Everything in it except for the code of its functions is checked.
///
/// # Errors
/// The component is truncated or invalid. The error is the reason, which can contain foreign names.
pub fn read_interfaces(component: &[u8]) -> Result<Interfaces, String> {
    let reason = |error: BinaryReaderError| error.to_string();
    // The engine decides about features.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut interfaces = Interfaces { file_size: component.len() as u64, ..Interfaces::default() };
    let mut depth = 0_usize;
    let mut types = None;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(reason)?;
        if let ValidPayload::End(found) = validator.payload(&payload).map_err(reason)? {
            types = Some(found); // the last ones are those of the component itself
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    interfaces.imports.push(import.map_err(reason)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    interfaces.exports.push(export.map_err(reason)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    let types = types.ok_or_else(|| "it is truncated".to_owned())?;
    let needs = interfaces.imports.iter().filter_map(|name| need_of(&types, name));
    interfaces.capabilities = needs.collect();
    Ok(interfaces)
}

/// The need for a grant, determined from an imported interface and its functions.
fn need_of(types: &Types, name: &str) -> Option<GuestCapability> {
    let ComponentEntityType::Instance(instance) = types.as_ref().component_item_for_import(name)?.ty else {
        return None;
    };
    let functions = &types.as_ref().get(instance)?.exports;
    GuestCapability::of_import(name, |function| {
        functions.get(function).is_some_and(|item| matches!(item.ty, ComponentEntityType::Func(_)))
    })
}

#[cfg(test)]
mod tests;
