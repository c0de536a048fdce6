// The contract's interface `log`.

export { enabled as logEnabled, write as logWrite } from "moongate:plugin/log@0.1.0";
