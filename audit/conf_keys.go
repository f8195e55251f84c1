package audit

import "strings"

// confKeys are the keys that nats-server reads in one block: every spelling and the name that this package uses for it.
type confKeys map[string]string

// keysOf reads "name=spelling,spelling other". A name is a spelling of itself.
func keysOf(text string) confKeys {
	out := confKeys{}
	for _, word := range strings.Fields(text) {
		name, more, _ := strings.Cut(word, "=")
		out[name] = name
		for spelling := range strings.SplitSeq(more, ",") {
			if spelling != "" {
				out[spelling] = name
			}
		}
	}
	return out
}

// The blocks as nats-server 2.15.3 reads them (server/opts.go); a test asks the server about every spelling.
var (
	topKeys = keysOf(`listen client_advertise port server_name host=net debug trace trace_verbose trace_headers logtime logtime_utc
		mappings=maps disable_sublist_cache=no_sublist_cache accounts default_sentinel authorization http https http_port=monitor_port
		https_port http_base_path cluster gateway leafnodes=leaf store_dir=storedir jetstream logfile=log_file
		logfile_size_limit=log_size_limit logfile_max_num=log_max_num syslog remote_syslog pidfile=pid_file ports_file_dir prof_port
		prof_block_rate max_control_line max_payload max_pending proxy_protocol max_connections=max_conn max_traced_msg_len
		max_subscriptions=max_subs max_sub_tokens=max_subscription_tokens ping_interval ping_max tls ocsp allow_non_tls write_deadline
		write_timeout lame_duck_duration lame_duck_grace_period operator=operators,roots,root,root_operators,root_operator
		resolver=account_resolver,accounts_resolver resolver_tls resolver_preload resolver_pinned_accounts no_auth_user
		system_account=system no_system_account=no_system,no_sys_acc no_header_support trusted=trusted_keys connect_error_reports
		reconnect_error_reports websocket=ws mqtt server_tags server_metadata feature_flags default_js_domain ocsp_cache
		no_fast_producer_stall max_closed_clients proxies`)
	authKeys = keysOf(`user=username password=pass token timeout users
		default_permissions=default_permission,permissions auth_callout=auth_hook proxy_required`)
	leafAuthKeys   = keysOf(`user=username password=pass nkey timeout users account proxy_required`)
	simpleAuthKeys = keysOf(`user=username password=pass token timeout`)
	userKeys       = keysOf(`nkey user=username password=pass permissions=permission,authorization
		allowed_connection_types=connection_types,clients proxy_required`)
	leafUserKeys   = keysOf(`user=username password=pass account proxy_required`)
	permissionKeys = keysOf(`publish=pub,import subscribe=sub,export allow_responses=publish_allow_responses`)
	subjectKeys    = keysOf(`allow deny`)
	responseKeys   = keysOf(`max=max_msgs,max_messages,max_responses expires=expiration,ttl`)
	calloutKeys    = keysOf(`issuer account=acc auth_users=users xkey=key allowed_accounts`)
	accountKeys    = keysOf(`nkey imports exports jetstream users default_permissions mappings=maps limits msg_trace=trace_dest`)
	limitKeys      = keysOf(`max_connections=max_conn max_subscriptions=max_subs max_payload=max_pay max_leafnodes=max_leafs`)
	exportKeys     = keysOf(`stream service response=response_type threshold=response_threshold,response_max_time,response_time
		accounts latency account_token_position allow_trace`)
	importKeys      = keysOf(`stream service prefix to share allow_trace`)
	importFromKeys  = keysOf(`account subject`)
	destinationKeys = keysOf(`destination=dest weight cluster`)
	clusterKeys     = keysOf(`name listen port host=net authorization routes tls cluster_advertise=advertise no_advertise connect_retries
		connect_backoff permissions pool_size accounts compression ping_interval ping_max write_deadline write_timeout`)
	gatewayKeys = keysOf(`name listen port host=net authorization tls advertise connect_retries connect_backoff gateways
		reject_unknown=reject_unknown_cluster write_deadline write_timeout ping_interval ping_max`)
	leafKeys = keysOf(`listen port host=net authorization remotes reconnect=reconnect_delay,reconnect_interval dial_timeout tls
		leafnode_advertise=advertise no_advertise min_version=minimum_version compression isolate_leafnode_interest=isolate
		write_deadline write_timeout ping_interval ping_max`)
	websocketKeys = keysOf(`listen port host=net advertise no_tls tls same_origin
		allowed_origins=allowed_origin,allow_origins,allow_origin,origins,origin handshake_timeout compression=compress
		authorization=authentication jwt_cookie user_cookie pass_cookie token_cookie no_auth_user headers ping_interval`)
	mqttKeys = keysOf(`listen port host=net tls authorization=authentication no_auth_user ack_wait=ackwait js_api_timeout=api_timeout
		max_ack_pending=max_pending,max_inflight js_domain stream_replicas consumer_replicas consumer_memory_storage
		consumer_inactive_threshold=consumer_auto_cleanup reject_qos2_publish downgrade_qos2_subscribe`)
)
