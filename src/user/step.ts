import { draftText } from "#api/applied-hash.ts";
import type { Certificate, Draft } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";
import type { BindingWish } from "#user/desired/binding.ts";
import type { BindingFacts, UserSnapshot } from "#user/snapshot.ts";

/** Everything that this room can do to the world: one write each. Passwords and keys are in none of them. */
export type UserStep =
  | { readonly do: "holdUser" }
  | { readonly do: "releaseUser" }
  /** Records that the user in etcd is this object's. */
  | { readonly do: "claimUser"; readonly name: string; readonly clusterID: string }
  | { readonly do: "requestCertificate"; readonly request: Draft<Certificate> }
  | { readonly do: "writeBinding"; readonly wish: BindingWish }
  /** @see from the binding whose password the user gets; undefined: it has none */
  | { readonly do: "addUser"; readonly name: string; readonly from: BindingFacts | undefined }
  | { readonly do: "setPassword"; readonly name: string; readonly from: BindingFacts }
  | { readonly do: "grantRole"; readonly name: string; readonly role: string }
  | { readonly do: "revokeRole"; readonly name: string; readonly role: string }
  | { readonly do: "deleteUser"; readonly name: string };

export type UserRule = Rule<UserSnapshot, UserStep>;
export type UserGuard = Guard<UserSnapshot, UserStep>;

/** What the step would change and into what: two steps with the same words are two tries of one. */
export function targetTextOf(step: UserStep): string {
  switch (step.do) {
    case "holdUser":
    case "releaseUser":
      return "";
    case "claimUser":
    case "deleteUser":
      return step.name;
    case "requestCertificate":
      return draftText(step.request);
    case "writeBinding":
      return `${step.wish.draft.metadata.name} ${step.wish.password} ${step.wish.pair}`;
    case "addUser":
      return `${step.name} ${step.from?.resourceVersion ?? ""}`;
    case "setPassword":
      return `${step.name} ${step.from.resourceVersion}`;
    case "grantRole":
    case "revokeRole":
      return `${step.name} ${step.role}`;
  }
}
