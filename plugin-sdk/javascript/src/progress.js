// Progress of a call, for clients that requested it.

import { reportProgress } from "#host/progress";

/** Reports `current` of `total`. `current` must increase with each report. */
export const report = (current, total, message) => reportProgress(current, total, message);
