//! Arguments and a result whose types have no schema.

use moongate_sdk::prelude::*;

#[derive(serde::Deserialize)]
struct City {
    name: String,
}

#[derive(serde::Serialize)]
struct Size {
    area: usize,
}

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds a city.
    #[tool]
    fn find(&self, args: City) -> String {
        args.name
    }

    /// Measures a city.
    #[tool]
    fn measure(&self, city: City) -> Json<Size> {
        Json(Size { area: city.name.len() })
    }
}

fn main() {}
