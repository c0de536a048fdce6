//! The bindings of the library for C: generated code that is committed, because authors have no generator.

use std::fs;
use std::path::Path;

use wit_bindgen_core::{Files, wit_parser::Resolve};

/// The name of the generated files and the prefix of common types.
const NAME: &str = "contract";

#[test]
fn bindings_for_c_are_up_to_date() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    if !library.exists() {
        return; // the crate stands alone
    }
    let mut resolve = Resolve::default();
    resolve.push_dir(library.join("wit")).unwrap();
    let world = fs::read_to_string(library.join("world.wit")).unwrap();
    let package = resolve.push_str("world.wit", &world).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    // `moongate build` adds the component's type itself, instead of an object file.
    let options = wit_bindgen_c::Opts {
        no_object_file: true,
        rename_world: Some(NAME.to_owned()),
        ..wit_bindgen_c::Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    let is_update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let in_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!(is_update && in_ci), "UPDATE_GOLDENS is refused if CI is set: any output would pass");
    let directory = library.join("bindings");
    for (name, generated) in files.iter() {
        let file = directory.join(name);
        if is_update {
            fs::create_dir_all(&directory).unwrap();
            fs::write(&file, generated).unwrap();
        }
        let committed = fs::read(&file).unwrap_or_default();
        assert!(
            committed == generated,
            "`{name}` differs; run `UPDATE_GOLDENS=1 cargo test -p moongate-sdk c_bindings`"
        );
    }
}
