import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import { NAMESPACE } from "#kit/world-people.ts";
import { seeded } from "./ambient.ts";
import { INVARIANTS } from "./invariants.ts";
import { Memory } from "./memory.ts";
import { mutationOf, replaced } from "./mutant.ts";
import { RESTARTING } from "./mutants-cluster.ts";
import { scene } from "./stories/scene.ts";

// Why is this told on purpose?
//   A voter that forgets loses nothing by itself: it takes a third voter that has not got the write yet, and a leader that is away
//   at that moment. Of sixty histories one has that.

/**
 * @param isForgetful whether the operator lets a voter start over (RESTARTING) and never fences it again; else it is the real one. The
 * EtcdPeer of that voter is deleted. Its disk is emptied while one of the others lacks what was
 * just acknowledged and the third is away: the two elect a leader that knows nothing of it.
 * @returns the promises that were broken, by name
 */
export function forgetfulVoter(isForgetful: boolean): Promise<ReadonlySet<string>> {
  return seeded(1, async () => {
    const [memory, broken] = [new Memory(), new Set<string>()];
    let isFencing = true;
    const fenceNoMore = replaced("fence", (real, snapshot) => (isFencing ? real.decide(snapshot) : undefined));
    const happened = (event: WorldEvent, world: World): void => {
      for (const { name, breaks } of INVARIANTS) if (breaks(event, world, memory) !== undefined) broken.add(name);
      memory.note(event, world);
    };
    const of = await scene(3, {
      hasStrictEtcd: false,
      mutation: !isForgetful
        ? {}
        : mutationOf({ name: "", ...RESTARTING, edits: [...(RESTARTING.edits ?? []), fenceNoMore] }),
      happened,
    });
    const { api, etcd } = of.world;
    isFencing = false;
    api.delete("person", ETCD_PEERS, { namespace: NAMESPACE, name: "db-1" });
    await of.untilQuiet();
    if (of.leader().peer === "db-1" && !etcd.moveLeader(of.leader(), of.process("db-0"))) throw new Error("db-1 leads");
    const leader = of.leader();
    const late = of.process(leader.peer === "db-0" ? "db-2" : "db-0");
    etcd.cutOff(late, true);
    for (let writes = 0; writes < 5; writes++) etcd.write(leader);
    etcd.cutOff(leader, true);
    etcd.cutOff(late, false);
    etcd.empty(of.process("db-1").disk);
    await of.forMs(10_000);
    return broken;
  });
}
