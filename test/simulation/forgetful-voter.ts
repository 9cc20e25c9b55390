import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { NAMESPACE } from "#kit/world/people.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import { seeded } from "./ambient.ts";
import { INVARIANTS } from "./invariants.ts";
import { Memory } from "./memory.ts";
import { mutationOf, replaced } from "./mutant.ts";
import { RESTARTING } from "./mutants-cluster.ts";
import { scene } from "./stories/scene.ts";

// A voter without memory loses no write by itself. A third voter must lack the write, and the leader must be
// unreachable, at the same moment. Only one in sixty random histories has that, so it is scripted.

/**
 * Checks every promise while a voter starts over, after its EtcdPeer is deleted and its disk is emptied. At that moment
 * another voter lacks the last acknowledged writes, and the third is unreachable. The two elect a leader without those
 * writes.
 * @param isForgetful whether the operator lets a voter start over (RESTARTING) and never fences it again; otherwise it
 * is the real one
 * @returns names of the broken promises
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
