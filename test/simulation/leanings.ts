import type { Leaning } from "./profile.ts";

// Leanings of histories that let mutants be found soon.

export const FORMING: Leaning = {
  onlyThat: true,
  startsFormed: false,
  steps: 60,
  replicas: 3,
  isTidied: true,
  obstacle: "none",
};
export const FORMED: Leaning = { ...FORMING, startsFormed: true, steps: 80 };
export const SCALED: Leaning = { ...FORMED, often: { editReplicas: 3, etcd: 20 } };
export const REPLACED: Leaning = { ...FORMED, often: { deleteClaim: 2, deletePod: 3 }, steps: 60 };
export const LOST: Leaning = { ...FORMED, often: { deleteClaim: 3, deletePod: 4 } };
export const FOREIGN: Leaning = { ...FORMING, often: { placeForeign: 8 }, isTidied: false, steps: 80 };
export const DELETED: Leaning = { ...FORMED, often: { deleteCluster: 3, createCluster: 4 } };
/** People copy the claims of a cluster to another namespace or name, and create a cluster from the copies. */
export const COPIED: Leaning = { ...FORMED, often: { copyCluster: 3 } };
export const ROLLED: Leaning = { ...FORMED, often: { editVersion: 2, editTemplate: 2 }, steps: 100 };
/** People do not take back their edits, such as flags with which etcd exits at once. */
export const BROKEN: Leaning = { ...FORMED, often: { editTemplate: 3 }, isTidied: false };
/** Templates change while members start, such as sidecars and init containers. */
export const BESIDE: Leaning = { ...FORMING, often: { editTemplate: 4 }, steps: 100 };
/** People switch TLS on and off, and sometimes back half-way, while pods, containers and operators crash. */
export const SWITCHED: Leaning = {
  ...FORMED,
  often: { switchTls: 1, crashOperator: 1, killContainer: 1, deletePod: 1, etcd: 20, kubernetes: 40, time: 20 },
  callFaults: { late: 0.2, lostReply: 0.05 },
  isTidied: false,
  steps: 300,
};
