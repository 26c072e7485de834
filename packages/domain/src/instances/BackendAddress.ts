import { Context } from "effect"

/** Base address of the backend API as a cell reaches it. */
export class BackendAddress extends Context.Tag("@berth/BackendAddress")<BackendAddress, string>() {}
