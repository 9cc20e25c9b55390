import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CallOptions } from "#etcd/client.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, startEtcd, until, untilLed } from "#kit/etcd.ts";
import { systemClock } from "#base/clock.ts";

describe.each(ETCD_VERSIONS)("health endpoints of etcd %s", (version) => {
  test("measure", async () => {
    const etcd = await planEtcd({ version, members: 3 });
    const t0 = performance.now();
    const log = (s: string) => console.log(`${version} +${Math.round(performance.now() - t0)} ${s}`);
    const member = etcd.members[0]!;
    const show = async (tag: string) => {
      const p0 = performance.now();
      const r = [];
      for (const p of ["/livez", "/readyz", "/health"] as const) { const a = performance.now(); r.push(`${p}=${await member.httpStatus(p)} (${Math.round(performance.now()-a)}ms)`); }
      const st = await etcd.client.probe(member.endpoint, { signal: neverAborted, deadlineMs: 500 });
      log(`${tag}: ${r.join(" ")} probe=${st.is === "present" ? "present leader=" + st.value.leaderId + " errors=" + JSON.stringify(st.value.errors) : st.is === "unknown" ? st.why : st.is}`);
    };
    try {
      await member.start({ initialCluster: etcd.initialCluster, state: "new" });
      for (let i = 0; i < 6; i++) { await systemClock.sleep(i < 3 ? 300 : 3000); await show("1 of 3"); }
      await etcd.members[1]!.start({ initialCluster: etcd.initialCluster, state: "new" });
      await until("ready", async () => (await member.httpStatus("/readyz")) === 200);
      await show("2 of 3");
      await etcd.members[1]!.kill();
      for (let i = 0; i < 8; i++) { await show("1 of 3 after loss"); await systemClock.sleep(1000); }
    } finally { await etcd.stop(); }
  });
});
