/** GET me: who is there. */
import type { Context } from "../context.js";

export async function answerMe(request: Request, context: Context): Promise<Response> {
  const { variant, tenantId, operator, roles, expiresAt } = (await context.personOf(request)).session;
  return Response.json({
    variant,
    tenantId,
    ...(operator && { operator }),
    ...(roles && { roles }),
    expiresAt,
  });
}
