import { ETCD_CONTAINER } from "#api/names.ts";
import { mergePodTemplate } from "#api/pod-template/merge.ts";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { hasTls } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Pod } from "#kube/kinds.ts";

type PodSpec = NonNullable<Pod["spec"]>;

/** User and groups of the agent's pod: the ID "nonroot" of distroless images, which etcd's pods have, too. */
const USER_ID = 65_532;
const AGENT_DEFAULTS = {
  securityContext: {
    runAsUser: USER_ID,
    runAsGroup: USER_ID,
    fsGroup: USER_ID,
    fsGroupChangePolicy: "OnRootMismatch",
  },
  containers: [{ name: ETCD_CONTAINER }],
};

/**
 * Pod spec with the agent's defaults, and the EtcdCluster's pod template merged over them. Its first container is
 * etcd's. A forbidden template is ignored as a whole, as for members.
 */
export function memberSpec(cluster: EtcdCluster | undefined): PodSpec {
  const asked = cluster?.spec.podTemplate ?? {};
  const isIgnored =
    cluster !== undefined && whyNotTemplate(asked, cluster.metadata.name, hasTls(cluster.spec)).length > 0;
  return mergePodTemplate({ spec: AGENT_DEFAULTS }, isIgnored ? {} : asked).spec as unknown as PodSpec;
}
