// JSON Schemas of tables of fields.

#include "internal.h"

static const char *const TYPES[] = {"string", "integer", "number", "boolean", "array", "object"};

cJSON *mg_fields_schema(const mg_field *fields, bool is_form) {
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    cJSON *required = cJSON_CreateArray();
    for (; fields && fields->name; fields++) {
        cJSON *property = cJSON_AddObjectToObject(properties, fields->name);
        const char *type = TYPES[fields->type];
        if (fields->optional && !is_form) {
            cJSON *types = cJSON_AddArrayToObject(property, "type");
            cJSON_AddItemToArray(types, cJSON_CreateString(type));
            cJSON_AddItemToArray(types, cJSON_CreateString("null"));
        } else {
            cJSON_AddStringToObject(property, "type", type);
        }
        if (fields->description) cJSON_AddStringToObject(property, "description", fields->description);
        if (!fields->optional) cJSON_AddItemToArray(required, cJSON_CreateString(fields->name));
        if (!fields->schema) continue;
        cJSON *more = cJSON_Parse(fields->schema);
        if (!cJSON_IsObject(more)) {
            mg_log(MG_ERROR, "the schema of the field `%s` isn't a JSON object", fields->name);
            continue;
        }
        while (more->child) {
            cJSON *keyword = cJSON_DetachItemViaPointer(more, more->child);
            if (cJSON_HasObjectItem(property, keyword->string)) {
                cJSON_ReplaceItemInObjectCaseSensitive(property, keyword->string, keyword);
            } else {
                cJSON_AddItemToObject(property, keyword->string, keyword);
            }
        }
    }
    if (cJSON_GetArraySize(required)) cJSON_AddItemToObject(schema, "required", required);
    if (!is_form) cJSON_AddFalseToObject(schema, "additionalProperties");
    return schema;
}

char *mg_input_schema(const mg_tool *tool) {
    if (tool->input_schema) return mg_format("%s", tool->input_schema);
    return cJSON_PrintUnformatted(mg_fields_schema(tool->arguments, false));
}

char *mg_output_schema(const mg_tool *tool) {
    if (tool->output_schema) return mg_format("%s", tool->output_schema);
    return tool->output ? cJSON_PrintUnformatted(mg_fields_schema(tool->output, false)) : NULL;
}
