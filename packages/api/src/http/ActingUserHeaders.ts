/*
 * What the web API tells the backend of whom it works for. Anybody can write a header: they count beside the internal key only.
 */

/** The id of the acting user. */
export const actingUserHeader = "x-berth-acting-user"
/** The address of his client. */
export const clientAddressHeader = "x-berth-client-address"
