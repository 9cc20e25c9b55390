import { expect, test } from "vitest";
import type { GroupLease } from "#kube/group-lease.ts";
import { Group } from "./group.ts";

function lease(name: string, told: string[]) {
  const self = { holds: false, stands: (): boolean => false };
  const stub = {
    mayAct: () => self.holds,
    alive: [name],
    run: (_signal: AbortSignal, stands: () => boolean) => {
      self.stands = stands;
      return Promise.resolve();
    },
    leave: () => Promise.resolve(void told.push(name)),
  };
  return Object.assign(self, { stub: stub as unknown as GroupLease });
}

test("leases are asked for in order, each only while all before it are held, and given back the other way round", async () => {
  const told: string[] = [];
  const [own, whole] = [lease("own", told), lease("whole", told)];
  const group = new Group([own.stub, whole.stub]);
  await group.run(new AbortController().signal);
  const seen = () => [own.stands(), whole.stands(), group.mayAct()];
  expect(seen()).toEqual([true, false, false]);
  own.holds = true;
  expect(seen()).toEqual([true, true, false]);
  whole.holds = true;
  expect(seen()).toEqual([true, true, true]);
  own.holds = false;
  expect(seen()).toEqual([true, false, false]);
  expect(group.alive).toEqual(["own"]);
  await group.leave();
  expect(told).toEqual(["whole", "own"]);
});
