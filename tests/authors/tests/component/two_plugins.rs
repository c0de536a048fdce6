//! Two plugins in one crate, in separate modules. A native build allows it, a component contains only one.

mod first {
    use moongate_sdk::prelude::*;

    #[derive(Default)]
    struct First;

    /// A plugin.
    #[plugin]
    impl First {
        /// Adds.
        #[tool]
        fn add(&self) {}
    }
}

mod second {
    use moongate_sdk::prelude::*;

    #[derive(Default)]
    struct Second;

    /// Another plugin.
    #[plugin]
    impl Second {
        /// Adds.
        #[tool]
        fn add(&self) {}
    }
}
