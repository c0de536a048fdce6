// The contract's interface `changes`.

import * as changes from "moongate:plugin/changes@0.1.0";

export function changed(what, uri) {
    if (what === "resource") changes.resourceUpdated(uri);
    else if (what === "tools") changes.toolsChanged();
    else if (what === "prompts") changes.promptsChanged();
    else changes.resourcesChanged();
}
