// The contract's interface `progress`.

export { report as reportProgress } from "moongate:plugin/progress@0.1.0";
