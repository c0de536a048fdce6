// Log messages: to the gateway's log, and to clients that requested the level. Never log a secret.
// `console` writes to the gateway's log only.

import { logEnabled, logWrite } from "#host/log";

/** True if messages of this level are written anywhere. */
export const enabled = (level) => logEnabled(level);

/** Writes a message: a string, or any value that JSON can represent. `logger` names the part of the plugin. */
export function write(level, data, { logger } = {}) {
    if (logEnabled(level)) logWrite(level, logger, JSON.stringify(data) ?? "null");
}

/** Details for troubleshooting. */
export const debug = (data, options) => write("debug", data, options);
/** Normal operation. */
export const info = (data, options) => write("info", data, options);
/** Normal but significant. */
export const notice = (data, options) => write("notice", data, options);
/** A potential problem. */
export const warning = (data, options) => write("warning", data, options);
/** An operation failed. */
export const error = (data, options) => write("error", data, options);
