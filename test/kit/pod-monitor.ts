import { POD_MONITORS } from "#kube/kinds.ts";
import { definitionOf } from "./foreign-kind.ts";

/** By this an API server knows PodMonitors, without the Prometheus Operator. */
export const POD_MONITOR_DEFINITION = definitionOf(POD_MONITORS);
