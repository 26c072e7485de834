// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Coinbase's indexer, as far as verification reads it.
contract TestIndexer {
    mapping(address => mapping(bytes32 => bytes32)) public getAttestationUid;

    function index(address recipient, bytes32 schema, bytes32 uid) external {
        getAttestationUid[recipient][schema] = uid;
    }
}

/// ENS's universal resolver, as far as verification reads it. Unlike the real one it does not check the forward record.
contract TestUniversalResolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
    error ResolverNotFound(bytes name);
    error ResolverError(bytes errorData);

    mapping(bytes32 => string) private primaryNames;
    mapping(bytes32 => address) private addresses;
    mapping(bytes32 => string) private gateways;

    function setPrimaryName(bytes calldata wallet, string calldata name) external {
        primaryNames[keccak256(wallet)] = name;
    }

    /// `name` in DNS encoding; the zero address removes the record.
    function setAddress(bytes calldata name, address owner) external {
        addresses[keccak256(name)] = owner;
    }

    function setGateway(bytes calldata name, string calldata url) external {
        gateways[keccak256(name)] = url;
    }

    function reverseWithGateways(bytes calldata wallet, uint256, string[] calldata)
        external
        view
        returns (string memory, address, address)
    {
        return (primaryNames[keccak256(wallet)], address(this), address(this));
    }

    function resolveWithGateways(bytes calldata name, bytes calldata data, string[] calldata)
        external
        view
        returns (bytes memory, address)
    {
        string memory gateway = gateways[keccak256(name)];
        if (bytes(gateway).length > 0) {
            string[] memory urls = new string[](1);
            urls[0] = gateway;
            revert OffchainLookup(address(this), urls, data, this.resolveCallback.selector, "");
        }
        address owner = addresses[keccak256(name)];
        if (owner == address(0)) revert ResolverNotFound(name);
        return (abi.encode(owner), address(this));
    }

    function resolveCallback(bytes calldata response, bytes calldata) external view returns (bytes memory, address) {
        if (response.length != 32) revert ResolverError(response);
        return (response, address(this));
    }
}
