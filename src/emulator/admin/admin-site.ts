// What the pages at /_emulator are about, and the shape of a page and of a form's effect.
import type { ApiRoute } from "../api/api-route.js";
import type { Deployment } from "../deployment.js";
import type { EmulatorOptions } from "../emulator-options.js";
import type { Markup } from "../pages/page.js";

/** Where everything of it is served, under the base URL. */
export const ADMIN_PATH = "/_emulator";

/** The emulator itself, beyond the one deployment that a reset ends. */
export interface AdminSite {
  deployment(): Deployment;
  settings(): EmulatorOptions;
  routes(): readonly ApiRoute[];
  reset(): void;
}

/** A form whose input was refused, with what was typed. */
export interface FailedForm {
  readonly id: string;
  readonly issues: readonly string[];
  readonly typed: URLSearchParams;
}

/** What one page is made from. */
export interface AdminView {
  readonly site: AdminSite;
  readonly deployment: Deployment;
  readonly formToken: string;
  readonly query: URLSearchParams;
  readonly failed?: FailedForm;
}

export interface AdminPage {
  /** Under `ADMIN_PATH`; of the overview empty. */
  readonly path: string;
  readonly title: string;
  /** It shows the requests itself. */
  readonly isWide?: boolean;
  body(view: AdminView): Markup;
}

/** What posting a form does. */
export interface AdminAction {
  /** Under `ADMIN_PATH`. */
  readonly path: string;
  /** Where the form is, and where the browser goes afterwards. */
  readonly page: AdminPage;
  /** Fields that the page's own query keeps. */
  readonly keep?: readonly string[];
  /** The id that the browser scrolls to. Default: the form's. */
  anchor?(fields: URLSearchParams): string | undefined;
  /** Name of the file that the form uploads, which `fields` then has as text. */
  readonly upload?: string;
  /** @throws EmulatorError for a bad input. */
  act(site: AdminSite, fields: URLSearchParams): void;
}
