// State as JSON.

#include <string.h>

#include "internal.h"

// Changes of a value by other calls that an update tolerates.
#define MAX_ATTEMPTS 64

static cJSON *parse(const char *key, mg_bytes value) {
    cJSON *parsed = cJSON_ParseWithLength(value.data, value.size);
    return parsed ? parsed : mg_set_error("invalid value under `%s`: not JSON", key);
}

cJSON *mg_state_get(const char *key, cJSON *fallback) {
    mg_bytes value;
    if (!mg_state_get_bytes(key, &value)) return NULL;
    return value.data ? parse(key, value) : fallback;
}

bool mg_state_set(const char *key, const cJSON *value) {
    const char *text = cJSON_PrintUnformatted(value);
    if (text) return mg_state_set_bytes(key, text, strlen(text));
    mg_set_error("invalid value for `%s`: not JSON", key);
    return false;
}

cJSON *mg_state_update(const char *key, cJSON *fallback, cJSON *(*change)(cJSON *old, void *context), void *context) {
    mg_snapshot *snapshot = mg_host_snapshot(key);
    for (int attempt = 0; snapshot && attempt < MAX_ATTEMPTS; attempt++) {
        mg_bytes value;
        if (!mg_host_snapshot_value(snapshot, &value)) return NULL;
        // The fallback is copied, because `change` can modify it.
        cJSON *old = value.data ? parse(key, value) : cJSON_Duplicate(fallback, true);
        if (!old && value.data) return NULL;
        cJSON *changed = change(old, context);
        if (!changed) return NULL;
        const char *text = cJSON_PrintUnformatted(changed);
        switch (mg_host_swap(&snapshot, text, strlen(text))) {
            case MG_SWAPPED: return changed;
            case MG_SWAP_FAILED: return NULL;
            case MG_SWAP_CHANGED: break;
        }
    }
    return snapshot ? mg_set_error("too many concurrent changes to `%s`; try again", key) : NULL;
}
