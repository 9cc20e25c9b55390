import { NAMESPACE } from "#kit/world-people.ts";
import { PERSISTENT_VOLUME_CLAIMS, POD_DISRUPTION_BUDGETS, PODS, SERVICES } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

/** A person adds a voter of their own with etcdctl. Nobody asked for fewer members. */
export const foreignVoterCostsOurs: Story = async () => {
  const of = await scene(5);
  await of.forMs(6_000);
  addOwn(of, "voter");
  await of.forMs(5 * 60_000);
  const claims = of.world.api.list(PERSISTENT_VOLUME_CLAIMS).length;
  return claims < 5 ? `${claims} claims are left of 5; it did ${of.did().slice(-4).join(", ")}` : undefined;
};

/** A person adds a voter of their own; then one more member is wanted. */
export const foreignVoterBlocksJoining: Story = async () => {
  const of = await scene(3);
  await of.forMs(6_000);
  addOwn(of, "voter");
  of.edit({ replicas: 4 });
  await of.forMs(5 * 60_000);
  return [...of.world.etcd.processes.values()].some(({ peer }) => peer === "db-3") ? undefined : "db-3 cannot join";
};

/** A person adds a voter of their own, with a name that is none for Kubernetes; then another release is wanted. */
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

/** A person adds a learner of their own, and then one more member is wanted: etcd has no place for it. */
export const foreignLearnerIsNagged: Story = async () => {
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

/** A person edits spec.version, which is refused, and asks for one more member. */
export const versionLeaks: Story = async () => {
  const of = await scene(3);
  of.edit({ version: "3.5.11", replicas: 4 });
  await of.forMs(5 * 60_000);
  const other = [...of.world.etcd.processes.values()].find(({ version }) => version !== "3.6.16");
  return other === undefined ? undefined : `${other.peer} runs ${other.version}`;
};

/** The database of a member is full: every write is refused. */
export const noSpaceUnseen: Story = async () => {
  const of = await scene(3);
  const { data } = of.leader();
  of.world.etcd.truth.of(data.clusterId).full.add(data.memberId);
  await of.forMs(5 * 60_000);
  if (of.world.etcd.write(of.leader())) throw new Error("the write was to be refused");
  const says = JSON.stringify(of.cluster.status?.conditions);
  return says.includes("NOSPACE")
    ? undefined
    : `no condition tells of it, and Ready is ${of.condition("Ready")?.status}`;
};

/** The client Service is gone and refused for ever; then a member loses its claim. */
export const accessoryHoldsBack: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(SERVICES.plural, "quotaExceeded");
  api.delete("person", SERVICES, { namespace: NAMESPACE, name: "db-client" });
  lose(of, "db-2");
  await of.forMs(10 * 60_000);
  return of.did().some((act) => act.startsWith("removeMember")) ? undefined : "the lost member is not replaced";
};

/** As before: what is missing is told. */
export const asideIsUntold: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(SERVICES.plural, "quotaExceeded");
  api.delete("person", SERVICES, { namespace: NAMESPACE, name: "db-client" });
  await of.forMs(60_000);
  const { status, reason } = of.condition("Ready") ?? {};
  return status === "True" ? `Ready is True (${reason}) without the client Service` : undefined;
};

/** A webhook undoes each write of the budget, which somebody has changed; then a member loses its claim. */
export const undoneIsRepeated: Story = async () => {
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

/** The member's claim is deleted, and its pod, so that the claim goes. */
function lose({ world }: Scene, name: string): void {
  const { api } = world;
  api.delete("person", PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name });
  const pod = api.list(PODS).find(({ spec }) => spec?.hostname === name);
  if (pod !== undefined) api.delete("person", PODS, pod.metadata);
}
