// The functions of the gateway that the plugin imports, and what it said to them.

/** Every line of the log, oldest first. */
export const lines = [];

/** What `enabled` answers. */
export const log = { enabled: true };

export const enabled = () => log.enabled;

export function write(level, logger, data) {
    lines.push({ level, logger, data: JSON.parse(data) });
}
