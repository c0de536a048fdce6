// The generated bindings of the contract, for components.

#ifdef __wasm__

#include "bindings/contract.c"

// `moongate build` adds the component's type, so nothing needs to be linked.
void __component_type_object_force_link_contract(void) {}

#else

// A translation unit isn't empty in ISO C.
typedef int mg_no_bindings;

#endif
