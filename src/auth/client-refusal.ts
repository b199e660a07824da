/** Why Variant B refused an API client, as far as what was sent can tell. */
import type { Cause } from "../errors.js";
import type { Refusal } from "./credential.js";

const whoIsRefused: readonly (string | undefined)[] = ["invalid_client", "unauthorized_client"];

/** Variant B's errors are not shown: read by RFC 6749 section 5.2, which is an assumption and said to be one. */
export function explainClientRefusal(
  { error, status }: Pick<Refusal, "error" | "status">,
  { clientId, hasSecret }: { readonly clientId: string; readonly hasSecret: boolean },
): readonly Cause[] {
  if (!whoIsRefused.includes(error) && status !== 401) return [];
  const evidence = `${error ?? status} for ${clientId}, ${hasSecret ? "sent with the client secret that was given" : "sent without a client secret"}, read as RFC 6749 section 5.2 means it: the description does not show Variant B's errors.`;
  return [
    hasSecret
      ? {
          id: "client_secret_mismatch",
          summary: "The client secret is not that of this API client, or the API client has none",
          evidence,
          remedy:
            "Compare both in the admin area under API clients. For a client without a secret leave clientSecret out; that of a service account does not belong here.",
        }
      : {
          id: "client_secret_missing",
          summary: "The API client has a secret, or there is no API client of this id",
          evidence,
          remedy:
            "Compare the client id in the admin area under API clients. If it has a secret there, give it as clientSecret.",
        },
  ];
}
