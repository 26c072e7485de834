// Headers from the web API to the backend; valid only with the internal key.

export const actingUserHeader = "x-berth-acting-user"
export const clientAddressHeader = "x-berth-client-address"
