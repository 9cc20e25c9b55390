import { draftText } from "#api/applied-hash.ts";
import type { Certificate, Draft } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";
import type { BindingWish } from "#user/desired/binding.ts";
import type { BindingFacts, UserSnapshot } from "#user/snapshot.ts";

/** The steps of this controller, each of one write. None contains a password or key. */
export type UserStep =
  | { readonly do: "holdUser" }
  | { readonly do: "releaseUser" }
  /** Records in the status that the user in etcd belongs to this object. */
  | { readonly do: "claimUser"; readonly name: string; readonly clusterID: string }
  | { readonly do: "requestCertificate"; readonly request: Draft<Certificate> }
  | { readonly do: "writeBinding"; readonly wish: BindingWish }
  /** @param from the binding with the password for the user; undefined: the user has none */
  | { readonly do: "addUser"; readonly name: string; readonly from: BindingFacts | undefined }
  | { readonly do: "setPassword"; readonly name: string; readonly from: BindingFacts }
  | { readonly do: "grantRole"; readonly name: string; readonly role: string }
  | { readonly do: "revokeRole"; readonly name: string; readonly role: string }
  | { readonly do: "deleteUser"; readonly name: string };

export type UserRule = Rule<UserSnapshot, UserStep>;
export type UserGuard = Guard<UserSnapshot, UserStep>;

/** Identifies the step's target and content: steps with equal texts are retries of one step. */
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
