import { ETCD_CONTAINER, METRICS_PORT } from "#api/names.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import type { ClusterWrites } from "#cluster/act.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { EndpointStatus, MemberId } from "#etcd/types.ts";
import { dialAddress } from "#kube/pod.ts";

/** The operator's certificate for members with TLS. */
export const shown: Identities = { identityOf: () => ({ ca: "ca", cert: "cert", key: "key" }) };

/**
 * Members that answer as in the snapshot.
 * @param asked is called with each request, such as `probe my-etcd-1`
 */
export function answering(
  { pods, endpoints, unpublished }: ClusterSnapshot,
  asked: (question: string) => void = () => undefined,
): ClusterWrites["etcd"] {
  const named = (isMeant: (name: string) => boolean): string => {
    const name = [...pods.keys()].find(isMeant);
    if (name === undefined) throw new Error("no pod has this address");
    return name;
  };
  return {
    probe: ({ address }: Endpoint): Promise<Observed<EndpointStatus>> => {
      const name = named((each) => {
        const endpoint = endpointOf(pods.get(each)!, shown);
        return endpoint.is === "present" && endpoint.value.address === address;
      });
      asked(`probe ${name}`);
      return Promise.resolve(endpoints.get(name) ?? absent);
    },
    health: (address: string): Promise<Observed<MemberId>> => {
      const name = named((each) => dialAddress(pods.get(each)!, ETCD_CONTAINER, METRICS_PORT) === address);
      asked(`health ${name}`);
      const id = unpublished.get(name);
      return Promise.resolve(id === undefined ? absent : present(id));
    },
  } as unknown as ClusterWrites["etcd"];
}

/** An API server that lists the pods of the snapshot. */
export function listing({ pods }: ClusterSnapshot): ClusterWrites["kube"]["list"] {
  return (() => Promise.resolve({ items: [...pods.values()] })) as unknown as ClusterWrites["kube"]["list"];
}
