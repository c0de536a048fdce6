// Fakes of the gateway's functions, and the plugin's log.

/** All log messages, oldest first. */
export const lines = [];

/** The result of `enabled`. */
export const log = { enabled: true };

export const enabled = () => log.enabled;

export function write(level, logger, data) {
    lines.push({ level, logger, data: JSON.parse(data) });
}
