import { NAMESPACE } from "#kit/world/people.ts";
import { PERSISTENT_VOLUME_CLAIMS, POD_DISRUPTION_BUDGETS, PODS, SERVICES } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

/** A person adds a voter with etcdctl. No one asked for fewer members. */
export const foreignVoterCausesRemoval: Story = async () => {
  const of = await scene(5);
  await of.forMs(6_000);
  addOwn(of, "voter");
  await of.forMs(5 * 60_000);
  const claims = of.world.api.list(PERSISTENT_VOLUME_CLAIMS).length;
  return claims < 5 ? `${claims} claims are left of 5; the operator did ${of.did().slice(-4).join(", ")}` : undefined;
};

/** A person adds a voter; then one more member is requested. */
export const foreignVoterBlocksJoining: Story = async () => {
  const of = await scene(3);
  await of.forMs(6_000);
  addOwn(of, "voter");
  of.edit({ replicas: 4 });
  await of.forMs(5 * 60_000);
  return [...of.world.etcd.processes.values()].some(({ peer }) => peer === "db-3") ? undefined : "db-3 cannot join";
};

/** A person adds a voter with a name that is no valid Kubernetes name; then another release is requested. */
export const foreignVoterBlocksRestarts: Story = async () => {
  const of = await scene(5);
  await of.forMs(6_000);
  addOwn(of, "voter");
  of.edit({ version: "3.6.17" });
  await of.forMs(5 * 60_000);
  const processes = [...of.world.etcd.processes.values()];
  const old = processes.filter(({ peer, version }) => peer.startsWith("db-") && version !== "3.6.17");
  return old.length === 0 ? undefined : `${old.map(({ peer }) => peer).join(", ")} did not restart`;
};

/** A person adds a learner; then one more member is requested, for which etcd has no place. */
export const foreignLearnerCausesPolling: Story = async () => {
  const of = await scene(3);
  await of.forMs(6_000);
  addOwn(of, "learner");
  of.edit({ replicas: 4 });
  await of.forMs(5 * 60_000);
  const before = of.world.writes;
  await of.forMs(5 * 60_000);
  const writes = of.world.writes - before;
  return writes > 20 ? `${writes} writes in five minutes in which nothing happens` : undefined;
};

function addOwn({ world }: Scene, what: "voter" | "learner"): void {
  if (!world.people.do(what === "voter" ? "addOwnVoter" : "addOwnLearner")) throw new Error("etcd refused it");
}

/** A person edits spec.version to a refused one, and asks for one more member. */
export const refusedVersionReachesNewMember: Story = async () => {
  const of = await scene(3);
  of.edit({ version: "3.5.11", replicas: 4 });
  await of.forMs(5 * 60_000);
  const other = [...of.world.etcd.processes.values()].find(({ version }) => version !== "3.6.16");
  return other === undefined ? undefined : `${other.peer} runs ${other.version}`;
};

/** The database of a member is full, so that every write is refused. */
export const spaceAlarmIsIgnored: Story = async () => {
  const of = await scene(3);
  const { data } = of.leader();
  of.world.etcd.truth.of(data.clusterId).full.add(data.memberId);
  await of.forMs(5 * 60_000);
  if (of.world.etcd.write(of.leader())) throw new Error("the write should be refused");
  const says = JSON.stringify(of.cluster.status?.conditions);
  return says.includes("NOSPACE")
    ? undefined
    : `no condition reports the alarm, and Ready is ${of.condition("Ready")?.status}`;
};

/** The client Service is deleted and refused for ever; then a member loses its claim. */
export const refusedServiceBlocksReplacement: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(SERVICES.plural, "quotaExceeded");
  api.delete("person", SERVICES, { namespace: NAMESPACE, name: "db-client" });
  lose(of, "db-2");
  await of.forMs(10 * 60_000);
  return of.did().some((act) => act.startsWith("removeMember")) ? undefined : "the lost member is not replaced";
};

/** The client Service is deleted and refused for ever: Ready must report that. */
export const missingServiceIsNotReported: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(SERVICES.plural, "quotaExceeded");
  api.delete("person", SERVICES, { namespace: NAMESPACE, name: "db-client" });
  await of.forMs(60_000);
  const { status, reason } = of.condition("Ready") ?? {};
  return status === "True" ? `Ready is True (${reason}) without the client Service` : undefined;
};

/** A person changes the budget, and a webhook undoes each repair; then a member loses its claim. */
export const undoneWriteIsRepeated: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(POD_DISRUPTION_BUDGETS.plural, "undone");
  const [budget] = api.list(POD_DISRUPTION_BUDGETS);
  if (budget === undefined) throw new Error("there is no budget");
  api.update("person", POD_DISRUPTION_BUDGETS, budget, { spec: { ...budget.spec, minAvailable: 0 } });
  lose(of, "db-2");
  await of.forMs(10 * 60_000);
  const tries = of.did().filter((act) => act === "replaceBudget").length;
  if (tries > 60) return `the budget was written ${tries} times in ten minutes`;
  return of.did().some((act) => act.startsWith("removeMember")) ? undefined : "the lost member is not replaced";
};

/** Deletes the member's claim, and its pod, so that the claim disappears. */
function lose({ world }: Scene, name: string): void {
  const { api } = world;
  api.delete("person", PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name });
  const pod = api.list(PODS).find(({ spec }) => spec?.hostname === name);
  if (pod !== undefined) api.delete("person", PODS, pod.metadata);
}
