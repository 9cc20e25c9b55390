import { describe, test } from "vitest";
import { ROOT } from "#api/names.ts";
import { keysWithPrefix, oneKey, type Permission } from "#etcd/auth.ts";
import { type EndpointStatus, type MemberList, memberId } from "#etcd/types.ts";
import { Diary, expectAlike, type Listed, type Show } from "#kit/likeness/likeness.ts";
import { type Flaw, OPTIONS, realSecure, type SecureSide, simulatedSecure } from "#kit/likeness/likeness-auth.ts";

// The simulated etcd implements auth and TLS as the real one does: see test/kit/likeness/likeness.ts.

/** Intended differences. */
const ON_PURPOSE: Listed = {};

const VERSION = "3.6.16";
const OPERATOR = "operator";
const NOBODY = memberId(5n);

interface Story {
  readonly name: string;
  tell(side: SecureSide, diary: Diary): Promise<void>;
}

const FLAWS: readonly Flaw[] = [
  "of another authority",
  "expired",
  "trusts another authority",
  "calls it by another name",
];

/**
 * The certificate's user: an administrator, a user without roles, one with a role for keys, a user unknown to etcd, and
 * none.
 */
const WHO = [OPERATOR, "idle", "reader-of-app", "stranger", ""] as const;

const STORIES: readonly Story[] = [
  {
    name: "users and roles are created and deleted",
    async tell({ client, as }, diary) {
      const at = await as(OPERATOR);
      const status = (line: string) => diary.note(line, () => client.authStatus(at, OPTIONS));
      const all = async (when: string) => {
        await diary.note(`all users ${when}`, () => client.userList(at, OPTIONS));
        await diary.note(`all roles ${when}`, () => client.roleList(at, OPTIONS));
        await status(`revision ${when}`);
      };
      await all("at first");
      await diary.note("authenticate while auth is disabled", () => client.authenticate(at, ROOT, "x", OPTIONS));
      for (const user of ["bob", ROOT]) {
        await diary.note(`get user ${user}, which does not exist`, () => client.userGet(at, user, OPTIONS));
        await diary.note(`delete user ${user}, which does not exist`, () => client.userDelete(at, user, OPTIONS));
        await diary.note(`change the password of ${user}, which does not exist`, () =>
          client.userChangePassword(at, user, "x", OPTIONS),
        );
        for (const role of ["reader", ROOT]) {
          await diary.note(`grant ${role} to ${user}, which does not exist`, () =>
            client.userGrantRole(at, user, role, OPTIONS),
          );
          await diary.note(`revoke ${role} from ${user}, which does not exist`, () =>
            client.userRevokeRole(at, user, role, OPTIONS),
          );
        }
      }
      for (const role of ["reader", ROOT]) {
        await diary.note(`get role ${role}, which does not exist`, () => client.roleGet(at, role, OPTIONS));
        await diary.note(`delete role ${role}, which does not exist`, () => client.roleDelete(at, role, OPTIONS));
        await diary.note(`revoke a range from role ${role}, which does not exist`, () =>
          client.roleRevokePermission(at, role, oneKey("a"), OPTIONS),
        );
        await diary.note(`grant a range to role ${role}, which does not exist`, () =>
          client.roleGrantPermission(at, role, { access: "READ", ...oneKey("a") }, OPTIONS),
        );
      }
      await diary.note("add a user without a name", () => client.userAdd(at, "", "x", OPTIONS));
      await diary.note("add a user with a password that is too long", () =>
        client.userAdd(at, "bob", "x".repeat(73), OPTIONS),
      );
      await diary.note("enable auth without root", () => client.authEnable(at, OPTIONS));
      await diary.note("disable auth while it is disabled", () => client.authDisable(at, OPTIONS));
      await all("after all refusals");

      await diary.note("bob is added", () => client.userAdd(at, "bob", "secret", OPTIONS));
      await diary.note("bob is added again", () => client.userAdd(at, "bob", "other", OPTIONS));
      await diary.note("reader is added", () => client.roleAdd(at, "reader", OPTIONS));
      await diary.note("reader is added again", () => client.roleAdd(at, "reader", OPTIONS));
      await diary.note("bob is granted a role that does not exist", () =>
        client.userGrantRole(at, "bob", "writer", OPTIONS),
      );
      await diary.note("a role that bob does not have is revoked", () =>
        client.userRevokeRole(at, "bob", "reader", OPTIONS),
      );
      await diary.note("a range that reader does not have is revoked", () =>
        client.roleRevokePermission(at, "reader", oneKey("a"), OPTIONS),
      );
      const grants: readonly Permission[] = [
        { access: "READ", ...oneKey("flag") },
        { access: "READ", ...keysWithPrefix("app/") },
        { access: "READWRITE", ...keysWithPrefix("app/") },
        { access: "WRITE", ...oneKey("app/") },
      ];
      for (const [n, permission] of grants.entries()) {
        await diary.note(`range ${n} is granted`, () => client.roleGrantPermission(at, "reader", permission, OPTIONS));
        await diary.note(`reader with range ${n}`, () => client.roleGet(at, "reader", OPTIONS));
      }
      await diary.note("a range is revoked", () => client.roleRevokePermission(at, "reader", oneKey("flag"), OPTIONS));
      await diary.note("reader without it", () => client.roleGet(at, "reader", OPTIONS));
      await diary.note("bob is granted reader", () => client.userGrantRole(at, "bob", "reader", OPTIONS));
      await status("revision before reader is granted again");
      await diary.note("bob is granted reader again", () => client.userGrantRole(at, "bob", "reader", OPTIONS));
      await diary.note("bob's password is changed", () => client.userChangePassword(at, "bob", "newer", OPTIONS));
      await diary.note("bob", () => client.userGet(at, "bob", OPTIONS));
      await all("with bob");
      await diary.note("reader is deleted", () => client.roleDelete(at, "reader", OPTIONS));
      await diary.note("bob without reader", () => client.userGet(at, "bob", OPTIONS));
      await diary.note("bob is deleted", () => client.userDelete(at, "bob", OPTIONS));
      await all("in the end");
    },
  },
  {
    name: "auth is enabled",
    async tell(side, diary) {
      const { client, as } = side;
      const at = await as(OPERATOR);
      const status = (line: string) => diary.note(line, () => client.authStatus(at, OPTIONS));
      await diary.note("root is added", () => client.userAdd(at, ROOT, "hunter2", OPTIONS));
      await diary.note("enable auth while root does not have its role", () => client.authEnable(at, OPTIONS));
      await diary.note("root is granted its role", () => client.userGrantRole(at, ROOT, ROOT, OPTIONS));
      for (const user of [OPERATOR, "idle", "reader-of-app"])
        await diary.note(`${user} is added`, () => client.userAdd(at, user, undefined, OPTIONS));
      await diary.note("the operator is granted root's role", () => client.userGrantRole(at, OPERATOR, ROOT, OPTIONS));
      await diary.note("app is added", () => client.roleAdd(at, "app", OPTIONS));
      await diary.note("app is granted a range", () =>
        client.roleGrantPermission(at, "app", { access: "READ", ...keysWithPrefix("app/") }, OPTIONS),
      );
      await diary.note("a user is granted app", () => client.userGrantRole(at, "reader-of-app", "app", OPTIONS));
      await status("before");
      await diary.note("auth is enabled", () => client.authEnable(at, OPTIONS));
      await status("after enabling, to the operator");
      await diary.note("auth is enabled again", () => client.authEnable(at, OPTIONS));

      const askedBy = async (who: string, when: string) => {
        const end = await as(who);
        const line = (what: string) => `${when}, ${who === "" ? "a certificate without a user" : who}: ${what}`;
        await diary.note(line("member"), () => client.status(end, OPTIONS));
        await diary.note(line("members"), () => client.memberList(end, { ...OPTIONS, linearizable: true }));
        await diary.note(line("auth"), () => client.authStatus(end, OPTIONS));
        await diary.note(line("all users"), () => client.userList(end, OPTIONS));
        await diary.note(line("all roles"), () => client.roleList(end, OPTIONS));
        await diary.note(line("own user"), () => client.userGet(end, who === "" ? "nobody" : who, OPTIONS));
        await diary.note(line("root's user"), () => client.userGet(end, ROOT, OPTIONS));
        await diary.note(line("a user that does not exist"), () => client.userGet(end, "no-such", OPTIONS));
        await diary.note(line("app"), () => client.roleGet(end, "app", OPTIONS));
        await diary.note(line("a role that does not exist"), () => client.roleGet(end, "no-such", OPTIONS));
        await diary.note(line("a user is added"), () => client.userAdd(end, `made-by-${who}`, undefined, OPTIONS));
        await diary.note(line("a role is granted"), () => client.userGrantRole(end, "idle", "app", OPTIONS));
        await diary.note(line("an unknown member is removed"), () => client.removeMember(end, NOBODY, OPTIONS));
        await diary.note(line("an unknown member is promoted"), () => client.promote(end, NOBODY, OPTIONS));
        await diary.note(line("leadership is transferred to an unknown member"), () =>
          client.moveLeader(end, NOBODY, OPTIONS),
        );
        await diary.note(line("an alarm is disarmed"), () =>
          client.disarmAlarm(end, { memberId: NOBODY, type: "NOSPACE" }, OPTIONS),
        );
        await diary.note(line("a downgrade is validated"), () => client.downgrade(end, "VALIDATE", "3.4", OPTIONS));
        if (when !== "on" || who === OPERATOR) return;
        await diary.note(line("auth is enabled"), () => client.authEnable(end, OPTIONS));
        await diary.note(line("auth is disabled"), () => client.authDisable(end, OPTIONS));
      };
      for (const who of WHO) await askedBy(who, "on");

      const logIn = (line: string, user: string, password: string) =>
        diary.note(line, () => client.authenticate(at, user, password, OPTIONS));
      await logIn("root logs in", ROOT, "hunter2");
      await logIn("root logs in with a wrong password", ROOT, "hunter3");
      await logIn("a stranger logs in", "stranger", "hunter2");
      await logIn("a user without a password logs in", OPERATOR, "hunter2");
      await diary.note("a user without a password gets one", () => client.userChangePassword(at, "idle", "x", OPTIONS));
      await logIn("that user logs in, still without a password", "idle", "x");
      await diary.note("root's password is changed", () => client.userChangePassword(at, ROOT, "hunter3", OPTIONS));
      await logIn("root with its new password", ROOT, "hunter3");
      await diary.note("root is deleted", () => client.userDelete(at, ROOT, OPTIONS));
      await diary.note("root's role is revoked", () => client.userRevokeRole(at, ROOT, ROOT, OPTIONS));
      await diary.note("root's role is deleted", () => client.roleDelete(at, ROOT, OPTIONS));

      await side.restart();
      await status("after a restart");
      await askedBy("stranger", "after a restart");
      await logIn("root logs in after a restart", ROOT, "hunter3");

      await diary.note("the operator revokes its own role", () => client.userRevokeRole(at, OPERATOR, ROOT, OPTIONS));
      await status("to an operator without its role");
      await diary.note("the operator asks for itself", () => client.userGet(at, OPERATOR, OPTIONS));
      await diary.note("the operator grants itself its role", () => client.userGrantRole(at, OPERATOR, ROOT, OPTIONS));
      const root = await as(ROOT);
      await diary.note("root grants the role again", () => client.userGrantRole(root, OPERATOR, ROOT, OPTIONS));
      await diary.note("the operator is deleted", () => client.userDelete(root, OPERATOR, OPTIONS));
      await status("to an operator that is no user");
      await diary.note("the deleted operator asks for itself", () => client.userGet(at, OPERATOR, OPTIONS));
      await diary.note("root disables auth", () => client.authDisable(root, OPTIONS));
      await diary.note("root disables auth again", () => client.authDisable(root, OPTIONS));
      await status("auth disabled");
      for (const who of ["stranger", ""]) await askedBy(who, "off");
      await diary.note("root may be deleted while auth is disabled", () => client.userDelete(at, ROOT, OPTIONS));
    },
  },
  {
    name: "certificates are rejected",
    async tell({ client, as, plain }, diary) {
      await diary.note("a valid certificate", async () => client.status(await as(OPERATOR), OPTIONS));
      await diary.note("without TLS", () => client.status(plain(), OPTIONS));
      for (const flaw of FLAWS) {
        const endpoint = await as(OPERATOR, flaw);
        await diary.note(flaw, () => client.status(endpoint, OPTIONS));
        const seen = await client.probe(endpoint, OPTIONS);
        // Parts after the call and its address: our words first, then the TLS library's words about names and numbers.
        diary.write(`${flaw}, in words`, seen.is === "unknown" ? seen.why.split(": ")[1] : seen.is);
      }
    },
  },
];

const show: Show = (answer) => {
  if (typeof answer !== "object" || answer === null) return answer;
  if ("members" in answer) return { members: (answer as MemberList).members.length };
  if ("memberId" in answer) return { isLeader: (answer as EndpointStatus).leaderId === answer.memberId };
  if (!Array.isArray(answer)) return answer;
  return answer.map((each) => ("key" in Object(each) ? permissionShown(each as Permission) : each));
};

function permissionShown({ access, key, rangeEnd }: Permission): string {
  return `${access} ${[...key].join(".")} to ${[...rangeEnd].join(".")}`;
}

describe.concurrent(`over TLS, the simulated etcd answers as etcd ${VERSION}`, () => {
  test.each(STORIES)("$name", { timeout: 120_000 }, async ({ name, tell }) => {
    const diaries = await Promise.all(
      [realSecure(VERSION), simulatedSecure(VERSION)].map(async (starting) => {
        const side = await starting;
        const diary = new Diary(show);
        try {
          await tell(side, diary);
          return diary;
        } finally {
          await side.stop();
        }
      }),
    );
    expectAlike(name, diaries[0]!, diaries[1]!, ON_PURPOSE);
  });
});
