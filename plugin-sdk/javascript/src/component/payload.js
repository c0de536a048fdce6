// Errors of imported functions.

/** The value of the error case that an imported function returned; componentize-qjs throws an `Error` around it. */
export const payload = (error) => error?.payload ?? error;
