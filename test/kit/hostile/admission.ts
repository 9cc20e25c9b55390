import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { clusterAdmission } from "#webhooks/cluster-admission.ts";

const kube = {
  create: () => Promise.resolve({}),
  list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
  find: () => Promise.resolve({ is: "absent" }),
};

/** Admission of clusters with an API server that answers at once, and has no other objects. */
export const admission = clusterAdmission({
  kube: kube as never,
  imageRepository: "registry.example/etcd",
  clock: systemClock,
  log: silentLog,
});
