//! Two plugins in one crate, in modules of their own: natively they may be there, a component holds one.

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
