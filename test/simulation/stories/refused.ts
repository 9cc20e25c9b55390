import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { withResources } from "#kit/pod-template.ts";
import { PODS } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// A spec that is refused while an update is under way: nobody gets anything new, and who does not come up is put back all the same.

const TOO_LARGE = { podTemplate: withResources({ requests: { cpu: "500" } }) };
const REFUSED = { podTemplate: { spec: { hostNetwork: true } } };

function running(of: Scene): number {
  return of.world.etcd.processes.size;
}

function restarts(of: Scene): readonly string[] {
  return of.did().filter((did) => did.startsWith("restartPod"));
}

function wrong(of: Scene, replicas: number): string | undefined {
  const { reason, message } = of.condition("Ready") ?? {};
  if (running(of) === replicas && reason === "SpecRefused") return undefined;
  return `${running(of)} of ${replicas} run; Ready says ${reason}: ${message}`;
}

/** The first member was restarted with what fits on no node, by the operator or by a person, and then the spec is edited to what is refused. */
export const refusalKeepsTheCanaryDown: Story = async () => {
  for (const type of ["RollingUpdate", "OnDelete"] as const)
    for (const replicas of [1, 2, 3]) {
      const of = await scene(replicas);
      of.edit({ ...TOO_LARGE, updateStrategy: { type } });
      if (type === "OnDelete") {
        await of.untilQuiet();
        const [first] = of.world.api.list(PODS);
        of.world.api.delete("person", PODS, first!.metadata);
      }
      for (let tenths = 0; running(of) === replicas && tenths < 600; tenths++) await of.forMs(100);
      await of.forMs(1_000);
      if (running(of) !== replicas - 1) throw new Error("the first member was to restart in vain");
      of.edit(REFUSED);
      await of.forMs(120_000);
      const why = wrong(of, replicas);
      if (why !== undefined) return `${type}: ${why}`;
    }
  return undefined;
};

/** A member has its turn, and has yet to restart, when the spec is edited to what is refused. */
export const turnOutlivesItsWish: Story = async () => {
  const of = await scene(2);
  const hasTurn = () => of.world.api.list(ETCD_PEERS).some(({ spec }) => spec.previous !== undefined);
  of.edit(TOO_LARGE);
  for (let steps = 0; !hasTurn() && steps < 1_000; steps++) await of.forMs(1);
  if (!hasTurn() || restarts(of).length > 0) throw new Error("a member was to have its turn");
  of.edit(REFUSED);
  await of.forMs(120_000);
  return restarts(of).length > 0 ? `what nobody asks for any more: ${restarts(of)}` : wrong(of, 2);
};

/** The only member is restarted with a release that nobody has published, and before it is put back an older minor is asked for: nobody can go there yet. */
export const unpublishedIsKept: Story = async () => {
  const of = await scene(1);
  of.edit({ version: "3.6.99" });
  for (let tenths = 0; running(of) === 1 && tenths < 600; tenths++) await of.forMs(100);
  of.edit({ version: "3.5.35", podTemplate: withResources({ limits: { cpu: "1" } }) });
  await of.untilQuiet();
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `${running(of)} of 1 run; Ready says ${reason}: ${message}`;
};
