import { isDeepStrictEqual } from "node:util";
import { record } from "#base/json.ts";
import type { Service } from "#kube/kinds.ts";

// Fields that the API server adds to a Service, and fields that it removes.

type Spec = NonNullable<Service["spec"]>;
type Port = NonNullable<Spec["ports"]>[number];

/** The first port of the range that Services are given on nodes: `--service-node-port-range`. */
const FIRST_NODE_PORT = 30_000;

/** The address of a Service and a port on nodes; each pool is used once. */
export interface Pool {
  readonly address: string;
  readonly nodePort: number;
}

export function poolOf(serial: number): Pool {
  return { address: `10.96.${serial >> 8}.${serial & 0xff}`, nodePort: FIRST_NODE_PORT + serial };
}

/**
 * Allocates a cluster IP, unless the Service names one or None, and a node port while its type needs one. Node ports
 * belong to port names. `patchAllocatedValues` and `dropTypeDependentFields` in pkg/registry/core/service,
 * `SetDefaults_Service` in pkg/apis/core/v1/defaults.go.
 * @param before undefined for a create
 */
export function allocated(wanted: Spec = {}, before: Spec | undefined, pool: Pool): Spec {
  const { address, nodePort: free } = pool;
  const isOpen = needsNodePort(wanted);
  const old = new Map((before?.ports ?? []).map(({ name, nodePort }) => [name, nodePort]));
  const ports = wanted.ports?.map((port, n): Port => {
    const { nodePort, ...closed } = port;
    if (isOpen) return { ...port, nodePort: nodePort ?? old.get(port.name) ?? free + n };
    // A change to type ClusterIP that repeats the previous node port does not request that port.
    return nodePort === old.get(port.name) ? closed : port;
  });
  const again = (field: string) =>
    !isOpen && OF_OPEN.includes(field) && isDeepStrictEqual(record(before)[field], record(wanted)[field]);
  return {
    clusterIP: before?.clusterIP ?? address,
    ...(isOpen ? { externalTrafficPolicy: "Cluster" } : {}),
    ...(wanted.type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: true } : {}),
    ...Object.fromEntries(Object.entries(wanted).filter(([field]) => !again(field))),
    ...(ports === undefined ? {} : { ports }),
  };
}

/** Fields that only a Service open to the outside may have. */
const OF_OPEN: readonly string[] = ["externalTrafficPolicy", "allocateLoadBalancerNodePorts"];

/** Fields of the spec that only another type permits: `ValidateService` in pkg/apis/core/validation. */
export function whyNotService(spec: Spec, before: Spec | undefined): string | undefined {
  if (before?.clusterIP !== undefined && spec.clusterIP !== before.clusterIP)
    return "spec.clusterIP: field is immutable";
  if (needsNodePort(spec)) return undefined;
  if (spec.ports?.some(({ nodePort }) => nodePort !== undefined) === true)
    return "spec.ports[0].nodePort: may not be used when `type` is 'ClusterIP'";
  const stray = OF_OPEN.find((field) => Object.hasOwn(spec, field));
  return stray === undefined ? undefined : `spec.${stray}: may only be set for externally-accessible services`;
}

function needsNodePort({ type }: Spec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}
