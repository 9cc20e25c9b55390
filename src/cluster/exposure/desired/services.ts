import { withHash } from "#api/applied-hash.ts";
import { givenFields, hasMetadata, withGiven, withoutGiven } from "#api/given-metadata.ts";
import {
  CLIENT_PORT,
  CLIENT_PORT_NAME,
  CLIENT_TLS_PORT_NAME,
  clientServiceName,
  clusterLabels,
  headlessServiceName,
  memberSelector,
  PEER_PORT,
  PEER_PORT_NAME,
} from "#api/names.ts";
import { providerOf, servedBy } from "#api/tls.ts";
import { fingerprint, isSameData } from "#base/hash.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Draft, Service } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";

const CLIENT = { name: CLIENT_PORT_NAME, port: CLIENT_PORT, targetPort: CLIENT_PORT, protocol: "TCP" as const };
const PEER = { name: PEER_PORT_NAME, port: PEER_PORT, targetPort: PEER_PORT, protocol: "TCP" as const };

/**
 * Gives every member a DNS name that outlives its pod. Names resolve before members are ready, because members must
 * find each other to become ready. SRV records of its ports let etcd clients discover members; the port name states the
 * scheme.
 */
export function headlessService(snapshot: ClusterSnapshot): Draft<Service> {
  const name = headlessServiceName(snapshot.cluster.metadata.name);
  const client = isPlainServed(snapshot) ? CLIENT : { ...CLIENT, name: CLIENT_TLS_PORT_NAME };
  return service(snapshot, name, { clusterIP: "None", publishNotReadyAddresses: true, ports: [client, PEER] });
}

/**
 * Whether all members serve clients without TLS, or the first ones are going to: discovery then finds all of them under
 * one name.
 */
function isPlainServed({ cluster, peers }: ClusterSnapshot): boolean {
  if (peers.length === 0) return providerOf(cluster.spec, "client") === "None";
  return peers.every(({ spec }) => servedBy(spec).includes("http"));
}

/** A single address for clients; it leads only to members that answer linearizable reads. */
export function clientService(snapshot: ClusterSnapshot): Draft<Service> {
  const name = clientServiceName(snapshot.cluster.metadata.name);
  // A converted object may lack the schema's defaults.
  const { spec, metadata } = snapshot.cluster.spec.clientService as Partial<ClientService>;
  const { type = "ClusterIP", appProtocol, nodePort, ...chosen } = (spec ?? {}) as Partial<ClientService["spec"]>;
  const port = { ...CLIENT, ...(appProtocol && { appProtocol }), ...(nodePort && { nodePort }) };
  return service(snapshot, name, { type, ports: [port], ...(chosen as Service["spec"]) }, metadata);
}

function service(
  snapshot: ClusterSnapshot,
  name: string,
  spec: Service["spec"],
  given?: ClientService["metadata"],
): Draft<Service> {
  const { namespace, name: clusterName } = snapshot.cluster.metadata;
  return withHash<Service>({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace,
      name,
      ...withGiven(clusterLabels(clusterName), given, choicesIn(spec)),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: { ...spec, selector: memberSelector(clusterName) },
  });
}

type ClientService = ClusterSnapshot["cluster"]["spec"]["clientService"];

/**
 * The PUT that turns the live Service into the desired one. What cloud controllers and people added stays; labels and
 * annotations that are no longer desired are removed. The API server keeps addresses and node ports that a PUT omits,
 * as long as the type needs them (pkg/registry/core/service/storage/alloc.go).
 */
export function servicePut(live: Service, wanted: Draft<Service>): Service {
  const put = replacing<Service>(withoutGiven(live), wanted);
  return { ...put, spec: { ...keptOf(live, wanted), ...put.spec, ...familiesOf(live, wanted) } };
}

/** The second family, which the server added for PreferDualStack. The server refuses a PUT without it. */
function familiesOf({ spec: live }: Service, { spec: wanted }: Draft<Service>): Pick<ServiceSpec, "ipFamilies"> {
  const [first] = wanted?.ipFamilies ?? [];
  const isAdded = wanted?.ipFamilyPolicy === "PreferDualStack" && first === live?.ipFamilies?.[0];
  return isAdded && live?.ipFamilies !== undefined ? { ipFamilies: live.ipFamilies } : {};
}

type ServiceSpec = NonNullable<Service["spec"]>;

/** Fields that the operator owns even when the desired Service omits them. */
const OWN_FIELDS = ["trafficDistribution", "publishNotReadyAddresses", "externalIPs"];

/**
 * Fields of a load balancer that a spec may choose and remove again; the class is immutable. While none does, those that
 * another client has set stay. The annotation with the managed keys records which ones a spec has chosen.
 */
const CHOICES = ["loadBalancerSourceRanges"] as const;

function choicesIn(spec: Service["spec"]): readonly string[] {
  return CHOICES.filter((field) => spec?.[field] !== undefined);
}

/**
 * Fields to keep of a Service that stays exposed: its load balancer class is immutable, and the clients that it admits
 * must not change.
 */
function keptOf(live: Service, wanted: Draft<Service>): Service["spec"] {
  const { spec = {} } = live;
  const type = spec.type ?? "ClusterIP";
  if (type === "ClusterIP" || type !== wanted.spec?.type) return {};
  const dropped = [...OWN_FIELDS, ...givenFields(live)];
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !dropped.includes(field)));
}

/** Whether the live Service has to be written: the desired one has changed, or another client changed what matters. */
export function serviceDiffers(live: Service, wanted: Draft<Service>): boolean {
  if (!hasMetadata(live, wanted)) return true;
  return fingerprint(essence(live)) !== fingerprint(essence(wanted)) || !hasChosen(live, wanted);
}

/** Fields that are compared only when the spec chooses them: otherwise the server or another client sets them. */
const CHOSEN = [...CHOICES, "loadBalancerClass", "ipFamilyPolicy"] as const;

function hasChosen(live: Service, { spec: wanted }: Draft<Service>): boolean {
  const isSame = (one: unknown, other: unknown) => other === undefined || isSameData(one, other);
  const [its, port] = [live.spec?.ports?.[0], wanted?.ports?.[0]];
  // With PreferDualStack the server adds a second family.
  const families = live.spec?.ipFamilies?.slice(0, wanted?.ipFamilies?.length);
  return (
    CHOSEN.every((field) => isSame(live.spec?.[field], wanted?.[field])) &&
    isSame(families, wanted?.ipFamilies) &&
    isSame(its?.appProtocol, port?.appProtocol) &&
    isSame(its?.nodePort, port?.nodePort)
  );
}

/** The fields that lead clients and members to the right pods; the server adds many others. */
function essence({ spec }: Pick<Draft<Service>, "spec">) {
  return {
    type: spec?.type ?? "ClusterIP",
    trafficDistribution: spec?.trafficDistribution,
    selector: spec?.selector,
    isHeadless: spec?.clusterIP === "None",
    publishNotReadyAddresses: spec?.publishNotReadyAddresses ?? false,
    ports: spec?.ports?.map(({ name, port, targetPort, protocol }) => ({ name, port, targetPort, protocol })),
  };
}
