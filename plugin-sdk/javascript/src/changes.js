// Notifications that a list or a resource has changed. The gateway acts on them after the call.

import { changed } from "#host/changes";

/** The list of tools has changed, because of a `when`. */
export const tools = () => changed("tools");
/** The list of resources or templates has changed. */
export const resources = () => changed("resources");
/** The list of prompts has changed. */
export const prompts = () => changed("prompts");
/** The data of this resource has changed. Clients that subscribed to it are notified. */
export const resource = (uri) => changed("resource", uri);
