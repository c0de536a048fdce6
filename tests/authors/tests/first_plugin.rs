//! The first plugin of `docs/plugins.md`, word for word.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Dice;

/// Rolls dice.
#[plugin]
impl Dice {
    /// Roll six-sided dice and add a bonus.
    #[tool(read_only, open_world = false)]
    fn roll(
        &self,
        /// Number of dice.
        #[schemars(range(min = 1, max = 100))]
        dice: u32,
        /// Number to add to the sum; 0 by default.
        bonus: Option<i32>,
    ) -> Result<String, ToolError> {
        let bonus = bonus.unwrap_or_default();
        let sum = i32::try_from((0..dice).map(|_| die()).sum::<u32>())? + bonus;
        log::debug(format_args!("{dice} dice and {bonus}: {sum}"));
        Ok(sum.to_string())
    }
}

/// Rolls one die, using the random seed of [`std::collections::HashMap`]'s hasher.
fn die() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    u32::try_from(RandomState::new().hash_one(0) % 6).expect("less than 6") + 1
}

#[cfg(test)]
mod tests {
    use moongate_sdk::testing::Client;

    use super::*;

    #[test]
    fn a_die_has_six_sides() {
        let client = Client::<Dice>::new();
        let rolled = client.call("roll", serde_json::json!({ "dice": 1, "bonus": 10 })).unwrap();
        assert!((11..=16).contains(&rolled.all_text().parse().unwrap()));
        assert_eq!(client.logs().len(), 1);
    }
}
