// Environment variables that the operator grants with `allow.env`. Prefer settings: they have a schema.

import { environment } from "#host/env";

/** The value of a variable, if it is set and granted. */
export const get = (name) => environment().find(([key]) => key === name)?.[1];
