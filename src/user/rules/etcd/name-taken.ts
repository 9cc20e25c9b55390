import { userNameOf } from "#access/namesakes.ts";
import { wait } from "#runtime/decide.ts";
import { isClaimed } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: the other object's end wakes nobody. */
const RECHECK_MS = 60_000;

/** What somebody else has made in etcd is left alone, unless spec.takeOver says otherwise; of two objects of one name the older one has it. */
export const nameTaken: UserRule = {
  name: "name-taken",
  decide(snapshot) {
    const { user, elder, found } = snapshot;
    const name = userNameOf(user);
    if (elder !== undefined)
      return wait("name-taken", `user ${name} is EtcdUser ${elder}'s, which is older`, RECHECK_MS, { warn: true });
    if (found.is !== "present" || isClaimed(snapshot) || user.spec.takeOver) return undefined;
    const because = `user ${name} is in etcd already, and this EtcdUser has not made it; with spec.takeOver: true it becomes this one's`;
    return wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
