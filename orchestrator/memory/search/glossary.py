"""Words of software work in Chinese and English, so that either finds the other.

A small table of what engineers say in both languages, for memories that are written in
one and asked in the other where no embedder is configured. Each word means one thing.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from orchestrator.memory.search.stems import stem

__all__ = ["in_chinese", "in_english", "longest"]

_WORDS: Final = """
数据库 database; 数据 data; 密码 password; 口令 password; 令牌 token; 账号 account;
账户 account; 用户 user; 客户 customer; 登录 login,sign-in; 注册 signup;
权限 permission; 角色 role; 认证 authentication; 授权 authorization; 证书 certificate;
密钥 key,secret; 加密 encryption,encrypted; 哈希 hash,hashing;
签名 signature,signing,signed; 验证码 captcha; 验证 validation,verify;
校验 check,validation; 会话 session; 缓存 cache; 队列 queue; 消息 message; 主题 topic;
消费 consumer; 事件 event; 日志 log,logging; 监控 monitoring; 告警 alert; 报警 alert;
指标 metric; 性能 performance; 延迟 latency,delay; 超时 timeout; 吞吐 throughput;
并发 concurrency; 线程 thread; 进程 process; 内存 memory; 磁盘 disk; 硬盘 disk;
显卡 gpu; 处理器 cpu; 服务器 server,host; 服务 service; 集群 cluster; 节点 node;
容器 container; 镜像 image; 网关 gateway; 代理 proxy; 负载均衡 balancer; 域名 domain;
端口 port; 网络 network; 防火墙 firewall; 地址 address; 接口 api,endpoint,interface;
请求 request; 响应 response; 参数 parameter; 错误 error; 异常 exception; 重试 retry;
限流 throttling; 幂等 idempotency,idempotent; 分页 pagination; 排序 sort,order;
搜索 search; 查询 query; 索引 index; 主键 key; 字段 field,column; 表 table;
事务 transaction; 迁移 migration; 备份 backup; 恢复 restore,recovery; 副本 replica;
从库 replica,standby; 主库 primary; 部署 deploy,deployment; 发布 release;
上线 release; 回滚 rollback; 灰度 canary; 版本 version; 升级 upgrade; 依赖 dependency;
配置 configuration,config; 环境 environment; 测试 test,testing; 单元测试 unit;
集成 integration; 构建 build; 流水线 pipeline; 编译 compile; 代码 code;
仓库 repository; 分支 branch; 提交 commit; 合并 merge; 评审 review; 审批 approval;
文档 document,documentation; 注释 comment; 需求 requirement; 缺陷 bug,defect;
工单 ticket; 故障 incident,outage; 事故 incident; 复盘 postmortem; 值班 on-call;
演练 drill; 备注 note; 前端 frontend; 后端 backend; 组件 component; 页面 page;
浏览器 browser; 图片 image; 样式 style; 按钮 button; 订单 order; 支付 payment;
付款 payment; 退款 refund; 发票 invoice; 价格 price; 金额 amount; 折扣 discount;
优惠券 coupon; 合同 contract; 账单 billing,bill; 税 tax; 信用卡 card; 试用 trial;
会员 membership,member; 积分 points; 物流 shipping; 运费 shipping; 快递 courier;
退货 return; 库存 stock,inventory; 仓库 warehouse; 会议 meeting; 周会 meeting;
团队 team; 负责人 lead,owner; 经理 manager; 产品 product; 设计 design;
设计师 designer; 测试工程师 tester; 运维 operations,ops; 法务 legal; 财务 finance;
实习生 intern; 培训 training; 报表 report; 报告 report; 周报 report; 看板 dashboard;
统计 statistics; 实验 experiment; 模型 model; 训练 training; 特征 feature;
标注 labelling; 样本 sample; 安全 security; 漏洞 vulnerability; 渗透 penetration;
审计 audit; 隐私 privacy; 合规 compliance; 命名 naming,name; 规范 convention,rule;
格式 format; 编码 encoding; 字符集 charset; 时区 zone; 日期 date; 时间 time;
定时 scheduled; 任务 job,task; 脚本 script; 工具 tool; 算法 algorithm; 函数 function;
变量 variable; 类型 type; 模块 module; 库 library; 框架 framework; 上传 upload;
下载 download; 文件 file; 目录 folder,directory; 路径 path; 通知 notification;
邮件 mail,email; 短信 sms; 电话 phone; 语言 language; 翻译 translation
"""


@cache
def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    english: dict[str, tuple[str, ...]] = {}
    chinese: dict[str, tuple[str, ...]] = {}
    for row in _WORDS.replace("\n", " ").split(";"):
        wide, words = row.split()
        # `sign-in` is found by the two words as one.
        stems = tuple(
            word.replace("-", "") if "-" in word else stem(word)
            for word in words.split(",")
        )
        english[wide] = stems
        if len(wide) > 1:
            for each in stems:
                chinese[each] = (*chinese.get(each, ()), wide)
    return english, chinese


def in_english(wide: str) -> tuple[str, ...]:
    """Return the stems of what a Chinese word is in English, or ()."""
    return _tables()[0].get(wide, ())


def in_chinese(stemmed: str) -> tuple[str, ...]:
    """Return the Chinese words, of two characters or more, for an English stem."""
    return _tables()[1].get(stemmed, ())


def longest(run: str, at: int) -> str:
    """Return the longest word of the table that starts at a place of a run, or ""."""
    for size in range(min(5, len(run) - at), 1, -1):
        if run[at : at + size] in _tables()[0]:
            return run[at : at + size]
    return ""
