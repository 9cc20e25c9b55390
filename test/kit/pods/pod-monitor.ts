import { definitionOf } from "#kit/servers/foreign-kind.ts";
import { POD_MONITORS } from "#kube/kinds.ts";

/** Defines PodMonitors on an API server, without the Prometheus Operator. */
export const POD_MONITOR_DEFINITION = definitionOf(POD_MONITORS);
