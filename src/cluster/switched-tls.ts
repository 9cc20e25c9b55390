import { providerOf, type Side } from "#api/tls.ts";
import { type ClusterSnapshot, peerScheme } from "#cluster/snapshot.ts";

// Why is it judged here, when the API server refuses such an edit?
//   What is written in v1alpha1 it checks by that version's schema alone: whoever takes the annotation away in which spec.tls rides takes TLS
//   away. Members that were then restarted one after another could not reach those that were not.

/** Why TLS cannot become what the spec asks for: a sentence for each side that members speak otherwise. */
export function whyTlsSwitched(snapshot: ClusterSnapshot): readonly string[] {
  const { peers } = snapshot;
  const reach = peerScheme(snapshot) === "https";
  const serve = peers.length === 0 ? undefined : peers.some(({ spec }) => spec.tls?.client !== undefined);
  return [
    ...whySwitched(snapshot, "peer", reach, "members reach each other"),
    ...whySwitched(snapshot, "client", serve, "members serve clients"),
  ];
}

/** @param has whether members speak TLS there; `undefined` as long as there are none */
function whySwitched({ cluster }: ClusterSnapshot, side: Side, has: boolean | undefined, what: string) {
  const provider = providerOf(cluster.spec, side);
  if (has === undefined || has === (provider !== "None")) return [];
  const [scheme, may] = has ? ["https", "Operator, CertManager or Secret"] : ["http", "None, or spec.tls be left out"];
  return [
    `spec.tls.${side}.provider is ${provider}, and ${what} by ${scheme}; it must be ${may}: TLS cannot yet be switched on or off on a cluster that exists; make another cluster from a backup`,
  ];
}
